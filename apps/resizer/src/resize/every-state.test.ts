import { explore } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import type { Claim } from '../caches/claim.ts'
import { SizeModel } from '../testing/states/size-model.ts'
import { REAL, type SizeOptions } from '../testing/states/size-state.ts'
import { onClaim } from './triggers.ts'

/**
 * Every state that one claim's size can come to: by users, a driver that fails in each way, kubelet, caches that are
 * behind, writes that are refused or whose answer is lost, and crashes between any two steps. From each of them events,
 * back-offs and a driver that works again lead to a claim that has what it asks for, as the driver and the volume say,
 * with nothing left of the way there.
 */
describe('every state of one claim’s size', () => {
  it('leads to the size that is asked for', () => {
    const { states, problem } = walk({})
    expect(problem).toBeUndefined()
    expect(states).toBeGreaterThan(50_000)
  })

  it('does so though an administrator edits the capacity of the volume', () => {
    const { states, problem } = walk({ edits: 1, faults: false, failures: false })
    expect(problem).toBeUndefined()
    expect(states).toBeGreaterThan(25_000)
  })

  it.each([
    ['a request that changes', { onClaim: deafTo('request') }],
    ['a node that has failed', { onClaim: deafTo('sizeStatus') }],
    ['a volume that has the size from before', { onVolume: () => [], faults: true, sizes: [1, 2] }],
  ] satisfies [string, Partial<SizeOptions>][])('is stuck without the trigger for %s', (_, broken) => {
    expect(walk({ faults: false, failures: false, ...broken }).problem).toMatch(/^No path leads to the goal/)
  })
})

function walk(options: Partial<SizeOptions>) {
  return explore(new SizeModel({ ...REAL, ...options }))
}

/** The trigger, but for changes of this field. */
function deafTo(field: keyof Claim): typeof onClaim {
  return (event, queue) =>
    onClaim(
      event.type === 'updated' ? { ...event, after: { ...event.after, [field]: event.before[field] } } : event,
      queue,
    )
}
