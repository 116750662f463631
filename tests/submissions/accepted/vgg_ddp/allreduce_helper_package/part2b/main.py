import argparse
import sys

import torch
import torch.distributed as dist

sys.path.insert(0, "../common")
sys.path.insert(0, "..")
from cifar import datasets_for, node_loader
from loop import run_epoch
from model import VGG11
from common.sync.mean import allreduce_mean


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--master-ip", type=str, required=True)
    parser.add_argument("--num-nodes", type=int, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--port", type=int, default=29500)
    opt = parser.parse_args()

    dist.init_process_group("gloo", init_method=f"tcp://{opt.master_ip}:{opt.port}",
                            world_size=opt.num_nodes, rank=opt.rank)
    torch.manual_seed(5000)
    net = VGG11()
    train, test = datasets_for("./data")
    train_loader = node_loader(train, opt.num_nodes, opt.rank)
    test_loader = torch.utils.data.DataLoader(test, batch_size=256)
    loss_fn = torch.nn.CrossEntropyLoss()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.0001)
    run_epoch(net, train_loader, sgd, loss_fn, allreduce_mean)

    net.eval()
    right = 0
    with torch.no_grad():
        for x, y in test_loader:
            right += (net(x).argmax(1) == y).sum().item()
    print("accuracy", right / len(test))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
