// A drawer instead of a change of page: a workload's facts beside what one looks at.
// Without this a link leads to the workload's page, as it does with a held key or another button.

import { sayFresh } from "./page.js";

const drawer = document.getElementById("drawer");
const body = drawer?.querySelector("[data-drawer-body]");
const page = drawer?.querySelector("[data-drawer-page]");
// What somebody asks for later is shown, whichever answer comes first.
let asked = null;

async function open(link) {
  const address = new URL(link.href);
  address.searchParams.set("part", "drawer");
  asked = address.href;
  let answer = null;
  try {
    answer = await fetch(address, { headers: { "HX-Request": "true" } });
  } catch {
    // The page says why there is nothing to see.
  }
  if (asked !== address.href) return;
  if (!answer?.ok) {
    location.assign(link.href);
    return;
  }
  sayFresh();
  body.innerHTML = await answer.text();
  page.href = link.href;
  if (!drawer.open) drawer.showModal();
  drawer.scrollTo(0, 0);
}

document.addEventListener("click", (event) => {
  const link = drawer && event.target.closest("a[data-drawer]");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || event.defaultPrevented) return;
  event.preventDefault();
  open(link);
});
