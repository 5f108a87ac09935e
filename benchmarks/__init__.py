"""What is measured: overlap, guard words, growth, worlds beyond this machine, and what verification costs."""
