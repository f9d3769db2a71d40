// Paper is white: a page that is dark on the screen, its figures too, is printed as the light one.
let chosen;
addEventListener("beforeprint", () => {
  chosen ??= document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  if (chosen) document.documentElement.dataset.theme = chosen;
  chosen = undefined;
});
