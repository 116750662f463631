"""What ranks did, kept so that it can be judged without them."""
