import time


def run_epoch(net, loader, optimizer, loss_fn, average):
    """The same loop for all parts; average(net) makes the gradients of all nodes equal."""
    net.train()
    seconds = []
    for i, (x, y) in enumerate(loader):
        start = time.time()
        optimizer.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        average(net)
        optimizer.step()
        seconds.append(time.time() - start)
        if i % 20 == 0:
            print("iteration", i, "loss", loss.item())
    if len(seconds) > 1:
        print("mean time", sum(seconds[1:10]) / len(seconds[1:10]))
