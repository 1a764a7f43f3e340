import { describe, expect, it } from '@jest/globals'
import type { ChaosAction, DriverCan } from './action.ts'
import { LATE_METHOD } from './call-faults.ts'
import { type PlanOptions, planOf } from './plan.ts'

const CAN: DriverCan = {
  expand: true,
  shared: true,
  block: true,
  crash: true,
  methods: ['CreateVolume', LATE_METHOD],
}

const options = (change: Partial<PlanOptions> = {}): PlanOptions => ({
  seed: 1,
  durationMs: 60_000,
  nodes: ['node-1', 'node-2'],
  can: CAN,
  ...change,
})

const actions = (change: Partial<PlanOptions> = {}): ChaosAction[] => planOf(options(change)).map(({ step }) => step)

describe('planOf', () => {
  it('a chaos plan depends only on the seed', () => {
    expect(planOf(options())).toEqual(planOf(options()))
    expect(planOf(options())).not.toEqual(planOf(options({ seed: 2 })))
  })

  it('a chaos plan lasts for the requested time', () => {
    const total = planOf(options()).reduce((sum, { afterMs }) => sum + afterMs, 0)
    expect(total).toBeGreaterThan(59_000)
    expect(total).toBeLessThanOrEqual(60_000)
  })

  it('a chaos plan contains each kind of action and fault', () => {
    const kinds = new Set(actions().map((action) => action.kind))
    expect([...kinds].sort()).toEqual([
      'breakApi',
      'breakCall',
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

  describe('driver abilities', () => {
    const planned = (change: Partial<DriverCan> = {}): ChaosAction[] => actions({ can: { ...CAN, ...change } })

    it('a chaos plan modifies claims if the driver supports it, sometimes with refused parameters', () => {
      const modifiedClaims = (all: ChaosAction[]): readonly number[] =>
        all.flatMap((each) => (each.kind === 'modifyClaim' ? [each.to] : []))
      expect(modifiedClaims(planned())).toEqual([])
      const classes = new Set(modifiedClaims(planned({ attributes: [{ tier: 'gold' }, { tier: 'silver' }] })))
      expect([...classes].sort()).toEqual([0, 1, 2])
    })

    it('a chaos plan sometimes expands and modifies a claim at the same time', () => {
      const together = (change: Partial<DriverCan>): readonly (readonly [string, string])[] => {
        const all = planOf(options({ can: { ...CAN, attributes: [{ tier: 'gold' }], ...change } }))
        return all.flatMap(({ step: action }, at): [string, string][] => {
          const next = all[at + 1]
          if (action.kind !== 'modifyClaim' || next?.afterMs !== 0 || next.step.kind !== 'resizeClaim') return []
          return [[action.claim, next.step.claim]]
        })
      }
      const pairs = together({})
      expect(pairs.length).toBeGreaterThan(3)
      expect(pairs.filter(([modifiedClaim, expanded]) => modifiedClaim !== expanded)).toEqual([])
      expect(together({ expand: false })).toEqual([])
    })

    it('a chaos plan contains no actions that the driver cannot do', () => {
      const claims = (all: ChaosAction[]) => all.filter((each) => each.kind === 'createClaim')
      expect(claims(planned()).some(({ shared }) => shared)).toBe(true)
      expect(claims(planned()).some(({ block }) => block)).toBe(true)
      const less = planned({ expand: false, shared: false, block: false, crash: false })
      expect(claims(less).filter(({ shared, block }) => shared || block)).toEqual([])
      expect(less.filter((each) => each.kind === 'resizeClaim' || each.kind === 'crashDriver')).toEqual([])
    })

    it('a chaos plan clones only claims that are never changed, into the zone of the source', () => {
      const zones = [
        { nodes: ['node-1'], segments: { zone: 'east' } },
        { nodes: ['node-2'], segments: { zone: 'west' } },
      ]
      const all = planned({ clone: true, zones })
      const claims = new Map(all.flatMap((each) => (each.kind === 'createClaim' ? [[each.claim, each]] : [])))
      const clones = [...claims.values()].filter(({ from }) => from !== undefined)
      expect(clones.length).toBeGreaterThan(0)
      for (const { from = '', zone, shared, block } of clones) {
        expect(claims.get(from)).toMatchObject({ zone, shared, size: 1, ...(block === true && { block }) })
        const touched = all.filter(
          (each) => (each.kind === 'resizeClaim' || each.kind === 'deleteClaim') && each.claim === from,
        )
        expect(touched).toEqual([])
      }
      expect(new Set([...claims.values()].map(({ zone }) => zone))).toEqual(new Set([0, 1]))
      for (const each of all) {
        if (each.kind !== 'createPod' && each.kind !== 'movePod') continue
        expect(zones[claims.get(each.claim)?.zone ?? -1]?.nodes).toContain(each.node)
      }
    })

    it('a chaos plan adds snapshots, and leaves the actions with volumes as they are without snapshots', () => {
      const all = planned({ snapshots: true, clone: true })
      const isAdded = (each: ChaosAction): boolean =>
        'snapshot' in each ||
        ('method' in each && /Snapshot$/.test(each.method)) ||
        ('claim' in each && each.claim.startsWith('restored-'))
      expect(all.filter((each) => !isAdded(each))).toEqual(planned({ clone: true }))
      const deleted = all.flatMap((each) => (each.kind === 'deleteSnapshot' ? [each.snapshot] : []))
      const restored = all.flatMap((each) => (each.kind === 'createClaim' && each.restores === true ? [each] : []))
      expect([deleted.length > 5, restored.length > 5]).toEqual([true, true])
      const sources = new Map(
        all.flatMap((each) => (each.kind === 'createSnapshot' ? [[each.snapshot, each.claim]] : [])),
      )
      for (const { from = '', size } of restored) {
        const claim = sources.get(from)
        const sizes = all.flatMap((each) => ('size' in each && each.claim === claim ? [each.size] : []))
        expect(size).toBe(Math.max(...sizes))
        expect(deleted).not.toContain(from)
        expect(all).not.toContainEqual({ kind: 'deleteClaim', claim })
      }
    })

    it('a chaos plan creates and deletes pods with inline volumes', () => {
      const all = planned({ inline: true })
      const made = all.flatMap((each) => (each.kind === 'createInlinePod' ? [each.pod] : []))
      expect(made.length).toBeGreaterThan(2)
      expect(all.some((each) => each.kind === 'deletePod' && made.includes(each.pod))).toBe(true)
      expect(planned().some((each) => each.kind === 'createInlinePod')).toBe(false)
    })

    it('a chaos plan uses each pair of fault and method once before it repeats a pair', () => {
      const faults = planned().flatMap((each) =>
        each.kind === 'breakCall' ? [`${each.method} ${each.fault.kind}`] : [],
      )
      const kinds = ['cut', 'delay', 'loseAnswer', 'repeat']
      const all = [...kinds.map((kind) => `CreateVolume ${kind}`), ...kinds.map((kind) => `${LATE_METHOD} ${kind}`)]
      expect(faults.slice(0, 9).sort()).toEqual([...all, `${LATE_METHOD} repeatLate`].sort())
      expect(new Set(faults.slice(9, 18)).size).toBe(9)
    })
  })

  it.each([1, 2, 3, 4, 5])('each action of the chaos plan with seed %i is possible at its time', (seed) => {
    const claims = new Map<string, { size: number; shared: boolean }>()
    const pods = new Map<string, string>()
    const snapshots = new Set<string>()
    const users = (claim: string): number => [...pods.values()].filter((each) => each === claim).length
    for (const action of actions({ seed, can: { ...CAN, snapshots: true } })) {
      if (action.kind === 'createSnapshot') {
        expect(claims.has(action.claim)).toBe(true)
        snapshots.add(action.snapshot)
      }
      if (action.kind === 'deleteSnapshot') expect(snapshots.delete(action.snapshot)).toBe(true)
      if (action.kind === 'createClaim' && action.restores === true) expect(snapshots.has(action.from ?? '')).toBe(true)
      if (action.kind === 'createClaim') claims.set(action.claim, action)
      if (action.kind === 'deleteClaim') expect(claims.delete(action.claim)).toBe(true)
      if (action.kind === 'deletePod' || action.kind === 'movePod') expect(pods.delete(action.pod)).toBe(true)
      if (action.kind === 'createPod' || action.kind === 'movePod') {
        pods.set(action.kind === 'movePod' ? action.to : action.pod, action.claim)
        expect(claims.has(action.claim)).toBe(true)
        if (claims.get(action.claim)?.shared === false) expect(users(action.claim)).toBe(1)
      }
      if (action.kind === 'resizeClaim') {
        expect(action.size).toBeGreaterThan(claims.get(action.claim)?.size ?? Number.POSITIVE_INFINITY)
        claims.set(action.claim, { shared: false, ...claims.get(action.claim), size: action.size })
      }
    }
  })
})
