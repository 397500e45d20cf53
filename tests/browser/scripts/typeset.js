// Until nothing has been added to the page for as long as ten frames take.
() => new Promise(done => {
  let quiet = 0
  const look = new MutationObserver(() => quiet = 0)
  look.observe(document.body, {childList: true, subtree: true})
  const frame = () => ++quiet > 10 ? (look.disconnect(), done()) : requestAnimationFrame(frame)
  frame()
})
