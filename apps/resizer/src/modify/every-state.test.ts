import { explore } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { ClassModel } from '../testing/states/class-model.ts'
import { type ClassOptions, REAL } from '../testing/states/class-state.ts'
import { onClaim } from './triggers.ts'

const WITH_BRONZE = { classes: ['gold', 'bronze', ''] } as const

/**
 * Checks all states that the class of one claim can reach. The causes are user actions, driver failures, late caches,
 * refused writes, lost responses and crashes.
 */
describe('ClassModel', () => {
  it('a claim reaches its requested class from every state, and the driver never applies two classes at once', () => {
    const { states, problem } = walk({})
    expect(problem).toBeUndefined()
    expect(states).toBeGreaterThan(10_000)
  })

  it('a claim reaches its requested class from every state, even if a class is created late and deleted', () => {
    const { states, problem } = walk({ ...WITH_BRONZE, faults: false })
    expect(problem).toBeUndefined()
    expect(states).toBeGreaterThan(10_000)
  })

  it.each([
    ['changes of the requested class', { onClaim: deafToRequests }],
    ['created classes', { ...WITH_BRONZE, wakes: false }],
  ] satisfies [string, Partial<ClassOptions>][])(
    'a claim never gets its class if no trigger watches %s',
    (_, broken) => {
      expect(walk({ faults: false, ...broken }).problem).toMatch(/^No path leads to the goal/)
    },
  )
})

function walk(options: Partial<ClassOptions>) {
  return explore(new ClassModel({ ...REAL, ...options }))
}

function deafToRequests(event: Parameters<typeof onClaim>[0]): ReturnType<typeof onClaim> {
  if (event.type !== 'updated') return onClaim(event)
  return onClaim({ ...event, after: { ...event.after, wantedClass: event.before.wantedClass } })
}
