import { expect, test } from '@jest/globals'
import { SharedProbes } from './health-check.ts'

/** Returns `ask`, and the started probes in their order. A probe ends when the test calls its `end`. */
function scripted() {
  const started: { readonly end: () => void; readonly signal: AbortSignal }[] = []
  const probes = new SharedProbes(
    (signal) =>
      new Promise<number>((resolve) => {
        const number = started.length
        started.push({ end: () => resolve(number), signal })
      }),
  )
  const ask = (signal = new AbortController().signal): Promise<number> => probes.ask(signal)
  return { started, ask }
}

test('the livenessprobe runs at most eight probes at once, and further HTTP requests share the last probe', async () => {
  const { started, ask } = scripted()
  const asked = Array.from({ length: 50 }, () => ask())
  expect(started).toHaveLength(8)
  for (const { end } of started) end()
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 50 }, (_, index) => Math.min(index, 7)))
  void ask()
  expect(started).toHaveLength(9)
})

test('a probe of the driver ends early when no HTTP request waits for it', async () => {
  const { started, ask } = scripted()
  for (let index = 0; index < 7; index += 1) void ask()
  const clients = [new AbortController(), new AbortController()]
  const asked = clients.map(({ signal }) => ask(signal))
  clients[0]?.abort()
  expect(started[7]?.signal.aborted).toBe(false)
  clients[1]?.abort()
  expect(started.map(({ signal }) => signal.aborted)).toEqual([...Array(7).fill(false), true])
  for (const { end } of started) end()
  await Promise.all(asked)
})
