// Sliders beside the numbers of the what-if form; the address holds what is shown.

const form = document.getElementById("what-if-form");
const answer = document.getElementById("what-if-answer");

for (const slider of form.querySelectorAll("[data-slides]")) {
  const number = document.getElementById(slider.dataset.slides);
  slider.hidden = false;
  slider.addEventListener("input", () => {
    number.value = rounded(slider);
  });
  number.addEventListener("input", () => {
    slider.value = number.value || 0;
  });
}

// Three digits are as many as a hand can mean; 0 stands for none.
function rounded(slider) {
  const value = Number(slider.value);
  if (slider.dataset.slides.startsWith("shares")) return String(Math.max(1, Math.round(value)));
  return value === 0 ? "" : String(Number(value.toPrecision(3)));
}

form.addEventListener("input", () => answer.setAttribute("aria-busy", "true"));
document.addEventListener("htmx:after:request", () => {
  answer.setAttribute("aria-busy", "false");
  history.replaceState(null, "", `?${new URLSearchParams(new FormData(form))}`);
});
