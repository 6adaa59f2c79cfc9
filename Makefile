# Forwards to ./dev, the front door.
.PHONY: all run check bench fuzz install clean
all:
	@./dev build
run check bench fuzz install clean:
	@./dev $@
