# One large executable and its libraries.
packages=chromium fonts-dejavu-core
command=exec chromium --no-sandbox --no-first-run --disable-gpu --disable-dev-shm-usage --user-data-dir=/root/profile about:blank
class=[Cc]hromium
