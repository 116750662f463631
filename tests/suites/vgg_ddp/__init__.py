"""The suites of vgg_ddp: VGG-11 trained on one node and, four ways, on several."""
