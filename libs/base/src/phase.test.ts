import { expect, test } from '@jest/globals'
import { inPhase, onPhase, type Phase } from './phase.ts'

test('`inPhase` reports the phase, then `deciding`, to the listeners of its signal only', async () => {
  const { signal } = new AbortController()
  const seen: Phase[] = []
  const foreign: Phase[] = []
  const stop = onPhase(signal, (phase) => seen.push(phase))
  onPhase(new AbortController().signal, (phase) => foreign.push(phase))
  const during = await inPhase('calling', signal, async () => [...seen])
  await expect(inPhase('writing', signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(during).toEqual(['calling'])
  stop()
  expect(await inPhase('calling', signal, async () => 7)).toBe(7)
  expect(seen).toEqual(['calling', 'deciding', 'writing', 'deciding'])
  expect(foreign).toEqual([])
})
