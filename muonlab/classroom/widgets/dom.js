// Shared by all widgets: build elements, and keep the notebook's shortcuts away from them.

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function root(el, className) {
  el.classList.add("muonlab", className);
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab takes arrow keys otherwise
  el.addEventListener("keydown", (event) => event.stopPropagation());
  return el;
}
