import { explore } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import type { ResizerClaim } from '../caches/claim.ts'
import { SizeModel } from '../testing/states/size-model.ts'
import { REAL, type SizeOptions } from '../testing/states/size-state.ts'
import { onClaim } from './triggers.ts'

/**
 * Checks all states that the size of one claim can reach. The causes are user actions, kubelet steps, driver failures,
 * late caches, refused writes, lost responses and crashes.
 * Each state must lead to the requested size. At the end claim, volume and driver agree, and no temporary state is
 * left.
 */
describe('SizeModel', () => {
  it('a claim reaches its requested size from every state', () => {
    const { states, problem } = walk({})
    expect(problem).toBeUndefined()
    expect(states).toBeGreaterThan(50_000)
  })

  it("a claim reaches its requested size from every state, even if an administrator edits the volume's capacity", () => {
    const { states, problem } = walk({ edits: 1, faults: false, failures: false })
    expect(problem).toBeUndefined()
    expect(states).toBeGreaterThan(25_000)
  })

  it.each([
    ['changes of the request', { onClaim: deafTo('request') }],
    ['changes of the size status', { onClaim: deafTo('sizeStatus') }],
    ['volumes with the old size', { onVolume: () => [], faults: true, sizes: [1, 2] }],
  ] satisfies [string, Partial<SizeOptions>][])('a claim never gets its size if no trigger watches %s', (_, broken) => {
    expect(walk({ faults: false, failures: false, ...broken }).problem).toMatch(/^No path leads to the goal/)
  })
})

function walk(options: Partial<SizeOptions>) {
  return explore(new SizeModel({ ...REAL, ...options }))
}

/** Returns a trigger with a deliberate fault: it ignores changes of this field. */
function deafTo(field: keyof ResizerClaim): typeof onClaim {
  return (event, queue) =>
    onClaim(
      event.type === 'updated' ? { ...event, after: { ...event.after, [field]: event.before[field] } } : event,
      queue,
    )
}
