# SPDX-License-Identifier: MIT
"""Debian's Chromium, without a network and without a screen, as the tests of the page use it."""
import json
import os
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common import utils
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys


class Driver(Service):
    """By its address: where there is no /etc/hosts, nobody knows a name for it."""

    def is_connectable(self):
        return utils.is_connectable(self.port, host="127.0.0.1")

    @property
    def service_url(self):
        return f"http://127.0.0.1:{self.port}"


class Browser:
    """One tab. What it fetched and what it complained about is kept."""

    def __init__(self, folder, shots):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--disable-dev-shm-usage", "--force-device-scale-factor=1",
                     "--disable-background-networking", "--disable-component-update",
                     "--disable-sync", "--no-first-run", "--remote-debugging-pipe",
                     "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=127.0.0.1", f"--user-data-dir={folder}/chromium",
                     "--window-size=1280,800"):
            options.add_argument(word)
        options.add_experimental_option(
            "prefs", {"download.default_directory": folder, "download.prompt_for_download": False})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Driver("/usr/bin/chromedriver"), options=options)
        self.shots = shots
        self.requests = []
        self.complaints = []
        self.size(1280, 800)

    def close(self):
        self.driver.quit()

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})

    def dark(self, on):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if on else "light"}]})

    def open(self, address, link=""):
        self.driver.get("about:blank")
        self.driver.get(address + ("#" + link if link else ""))
        self.wait("window.coati")
        self.look()

    def js(self, code, *args):
        return self.driver.execute_script(code, *args)

    def wait(self, condition, why=""):
        """Until a condition of the page holds; the limit is for what never comes."""
        end = time.monotonic() + 30
        while not self.js(f"return !!({condition})"):
            if time.monotonic() > end:
                raise AssertionError(f"never came: {why or condition}")
            time.sleep(0.02)

    def find(self, selector):
        found = self.driver.find_elements("css selector", selector)
        assert found, f"there is no {selector}"
        return found[0]

    def click(self, selector):
        self.find(selector).click()

    def press(self, *keys):
        for key in keys:
            ActionChains(self.driver).send_keys(getattr(Keys, key) if len(key) > 1 else key).perform()

    def drag(self, selector, x0, x1, y):
        """From one place of an element to another, from its left upper corner."""
        box = self.js("const r = document.querySelector(arguments[0]).getBoundingClientRect();"
                      "return [r.left, r.top]", selector)
        for kind, x, buttons in (("mousePressed", x0, 1), ("mouseMoved", (x0 + x1) / 2, 1),
                                 ("mouseMoved", x1, 1), ("mouseReleased", x1, 0)):
            self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
                "type": kind, "x": box[0] + x, "y": box[1] + y, "button": "left",
                "buttons": buttons, "clickCount": 1})

    def click_at(self, selector, x, y):
        self.drag(selector, x, x, y)

    def state(self):
        return self.js("return window.coati.state")

    def shot(self, name):
        if self.shots:
            self.driver.save_screenshot(os.path.join(self.shots, name + ".png"))

    def look(self):
        """Gather what the browser logged since the last look."""
        for entry in self.driver.get_log("browser"):
            self.complaints.append(entry["message"])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
