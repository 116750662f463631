"""Keeps what ranks did, so that it can be judged without them."""
