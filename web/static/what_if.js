// Sliders beside the numbers of the what-if form; the address holds what is shown.

const form = document.getElementById("what-if-form");
const parts = ["what-if-verdict", "what-if-answer"].map((id) => document.getElementById(id));

for (const slider of form.querySelectorAll("[data-slides]")) {
  const number = document.getElementById(slider.dataset.slides);
  slider.hidden = false;
  sayValue(slider, number);
  slider.addEventListener("input", () => {
    number.value = rounded(slider);
    sayValue(slider, number);
  });
  number.addEventListener("input", () => {
    slider.value = number.value || (isLimit(slider) ? slider.max : 0);
    sayValue(slider, number);
  });
}

// A tier moves the shares of its workloads that have none of their own.
for (const tier of form.querySelectorAll("input[name^='tier-']")) {
  const own = [...form.querySelectorAll(`[data-tier="${tier.name.slice("tier-".length)}"]`)];
  let before = tier.value;
  const moveRows = () => {
    const value = tier.value;
    for (const number of own) {
      if (number.value !== number.dataset.proposed && number.value !== before) continue;
      number.value = value || number.dataset.proposed;
      const slider = document.getElementById(`${number.id}-slider`);
      slider.max = Math.max(slider.max, number.value);
      slider.value = number.value;
      sayValue(slider, number);
    }
    before = value;
  };
  tier.addEventListener("input", moveRows);
  document.getElementById(`${tier.id}-slider`).addEventListener("input", moveRows);
}

function isOfTier(field) {
  const tier = field.dataset.tier && document.getElementById(`tier-${field.dataset.tier}`);
  return Boolean(tier) && tier.value !== tier.dataset.proposed && field.value === tier.value;
}

// The right end of a limit is no limit, which its position does not tell a screen reader.
function sayValue(slider, number) {
  slider.setAttribute("aria-valuetext", number.value ? `${number.value} ${slider.dataset.unit}`.trim() : number.placeholder);
}

function isLimit(slider) {
  return slider.dataset.slides.startsWith("limit");
}

// Three digits are as many as a hand can mean. The left end reserves nothing, the right end of a
// limit is no limit.
function rounded(slider) {
  const value = Number(slider.value);
  if (/^(shares|tier)-/.test(slider.dataset.slides)) return String(Math.max(1, Math.round(value)));
  const isNone = isLimit(slider) ? value >= Number(slider.max) : value === 0;
  return isNone ? "" : String(Number(Math.max(value, Number(slider.max) / 1000).toPrecision(3)));
}

// Of hundreds of fields only what differs from the proposal is sent: the address stays short.
form.addEventListener("formdata", ({ formData }) => {
  for (const field of form.querySelectorAll("[data-proposed]")) {
    if (field.value === field.dataset.proposed || isOfTier(field)) formData.delete(field.name);
  }
});

// The form is not written anew, so what the answer refuses is marked here.
function markWrong() {
  const wrong = (document.getElementById("what-if-errors")?.dataset.wrong ?? "").split(" ");
  for (const field of form.querySelectorAll("input[name]")) {
    if (wrong.includes(field.name)) {
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", "what-if-errors");
    } else {
      field.removeAttribute("aria-invalid");
      field.removeAttribute("aria-describedby");
    }
  }
}

document.addEventListener("htmx:after:swap", markWrong);
form.addEventListener("input", () => setBusy(true));
document.addEventListener("htmx:after:request", () => {
  setBusy(false);
  history.replaceState(null, "", `?${new URLSearchParams(new FormData(form))}`);
});

function setBusy(isBusy) {
  for (const part of parts) part.setAttribute("aria-busy", String(isBusy));
}

// --- A filter over many rows; it asks the server nothing

const filter = document.getElementById("row-filter");
const rows = [...form.querySelectorAll("#what-if-rows tbody tr")];

function showRows() {
  const wanted = filter.value.trim().toLowerCase();
  for (const row of rows) row.hidden = ![...row.querySelectorAll(".name")].some((name) => name.textContent.toLowerCase().includes(wanted));
  const shown = rows.filter((row) => !row.hidden).length;
  filter.parentElement.querySelector("[role=status]").textContent = `${shown} of ${rows.length}`;
}

if (filter) {
  filter.parentElement.hidden = false;
  filter.addEventListener("input", (event) => {
    event.stopPropagation();
    showRows();
  });
  filter.addEventListener("change", (event) => event.stopPropagation());
  // Enter would send the form.
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
