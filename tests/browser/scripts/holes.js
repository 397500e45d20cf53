// The pixels of a cell's outputs in which nothing can be seen: outputs without anything, and gaps of more than a margin.
area => {
  const seen = n => n.innerText.trim() || n.querySelector('img, button')
  const parts = [...area.querySelectorAll('.jp-OutputArea-child')].map(n => [n.getBoundingClientRect(), seen(n)])
  const full = parts.filter(([, seen]) => seen).map(([box]) => box).sort((a, b) => a.top - b.top)
  const gaps = full.slice(1).map((box, i) => box.top - full[i].bottom).filter(gap => gap > 12)
  return gaps.concat(parts.filter(([box, seen]) => !seen && box.height > 0).map(([box]) => box.height))
}
