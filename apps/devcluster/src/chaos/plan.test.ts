import { describe, expect, it } from '@jest/globals'
import { type Action, type PlanOptions, planOf } from './plan.ts'

const options = (change: Partial<PlanOptions> = {}): PlanOptions => ({
  seed: 1,
  durationMs: 60_000,
  nodes: ['node-1', 'node-2'],
  profile: 'all',
  ...change,
})

const actions = (change: Partial<PlanOptions> = {}): Action[] => planOf(options(change)).map(({ action }) => action)

describe('a plan', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planOf(options())).toEqual(planOf(options()))
    expect(planOf(options())).not.toEqual(planOf(options({ seed: 2 })))
  })

  it('lasts as long as it should', () => {
    const total = planOf(options()).reduce((sum, { afterMs }) => sum + afterMs, 0)
    expect(total).toBeGreaterThan(59_000)
    expect(total).toBeLessThanOrEqual(60_000)
  })

  it('has everything in it', () => {
    const kinds = new Set(actions().map((action) => action.do))
    expect([...kinds].sort()).toEqual([
      'breakApi',
      'crashDriver',
      'createClaim',
      'createPod',
      'deleteClaim',
      'deletePod',
      'killSidecar',
      'movePod',
      'resizeClaim',
      'restartController',
    ])
  })

  it('of restarts breaks nothing else', () => {
    const kinds = actions({ profile: 'restarts' }).map((action) => action.do)
    expect(kinds).toContain('restartController')
    expect(kinds.filter((kind) => kind === 'breakApi' || kind === 'crashDriver' || kind === 'killSidecar')).toEqual([])
  })

  it.each([1, 2, 3, 4, 5])('of seed %i asks for nothing that cannot be', (seed) => {
    const claims = new Map<string, { size: number; shared: boolean }>()
    const pods = new Map<string, string>()
    const users = (claim: string): number => [...pods.values()].filter((each) => each === claim).length
    for (const action of actions({ seed })) {
      if (action.do === 'createClaim') claims.set(action.claim, action)
      if (action.do === 'deleteClaim') expect(claims.delete(action.claim)).toBe(true)
      if (action.do === 'deletePod' || action.do === 'movePod') expect(pods.delete(action.pod)).toBe(true)
      if (action.do === 'createPod' || action.do === 'movePod') {
        pods.set(action.do === 'movePod' ? action.to : action.pod, action.claim)
        expect(claims.has(action.claim)).toBe(true)
        if (claims.get(action.claim)?.shared === false) expect(users(action.claim)).toBe(1)
      }
      if (action.do === 'resizeClaim') {
        expect(action.size).toBeGreaterThan(claims.get(action.claim)?.size ?? Number.POSITIVE_INFINITY)
        claims.set(action.claim, { shared: false, ...claims.get(action.claim), size: action.size })
      }
    }
  })
})
