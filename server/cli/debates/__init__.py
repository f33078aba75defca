"""Commands about debates: hold, watch, steer, read, hand on, and what was learnt from them."""
