# SPDX-License-Identifier: MIT
# A thin face over Meson. `make` builds; every other target does all of its own set-up first.
BUILD ?= build
PREFIX ?= /usr/local

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)
	@for f in cli/coati src/libcoati.so src/libcoati-live.so src/libcoati-live.a; do ln -sf $$f $(BUILD)/$${f##*/}; done

$(BUILD)/build.ninja:
	meson setup $(BUILD) --prefix=$(PREFIX)

clean:
	rm -rf build build-*

.PHONY: all clean
