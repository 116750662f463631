from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms

mean = [125.3 / 255, 123.0 / 255, 113.9 / 255]
std = [63.0 / 255, 62.1 / 255, 66.7 / 255]


def datasets_for(root):
    norm = transforms.Normalize(mean=mean, std=std)
    train_transform = transforms.Compose([transforms.RandomCrop(32, padding=4),
                                          transforms.RandomHorizontalFlip(),
                                          transforms.ToTensor(), norm])
    test_transform = transforms.Compose([transforms.ToTensor(), norm])
    return (datasets.CIFAR10(root=root, train=True, download=True, transform=train_transform),
            datasets.CIFAR10(root=root, train=False, download=True, transform=test_transform))


def node_loader(dataset, nodes, rank):
    sampler = DistributedSampler(dataset, num_replicas=nodes, rank=rank)
    return DataLoader(dataset, batch_size=256 // nodes, sampler=sampler)
