import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { VOLUME_REF } from '../src/testing/builders.ts'
import { type Behaviour, giOf } from '../src/testing/model/backend.ts'
import { type Action, ModelRun } from '../src/testing/model/model-run.ts'

/**
 * Random actions of users, drivers and nodes run against a storage back end that records its actual state.
 * These rules always hold:
 * - The back end is never asked for more than the largest request of the user.
 * - No object shows a larger size than its volume has, even if objects are recreated during calls or caches are late.
 * - A size that was refused for good is not tried again after the user has taken it back.
 * - While a size or a class may be running, no other size or class is tried.
 * - Once all faults end, claim, volume and back end match the request, and no temporary state is left.
 */

const RUNS = Number(process.env['MODEL_RUNS'] ?? 200)
const SEED = Number(process.env['MODEL_SEED'] ?? 20_260_101)

const CLASSES = ['gold', 'silver', 'bronze']

const behaviour = fc.constantFrom<Behaviour>(
  ...([
    'done',
    'nodeStep',
    'infeasible',
    'final',
    'inUse',
    'tooSmall',
    'lateSuccess',
    'noEffect',
    'away',
    'hang',
  ] as const),
)

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('request' as const), gi: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('want' as const), name: fc.constantFrom(...CLASSES, null) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('requestInCall' as const), gi: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wantInCall' as const), name: fc.constantFrom(...CLASSES) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('expandsLike' as const), behaviour }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('modifiesLike' as const), behaviour }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('node' as const), succeeds: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('crashAtWrite' as const), writes: fc.nat(4), applied: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('restart' as const, 'label', 'createClass', 'podBegins', 'podEnds', 'driverReturns'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('replace' as const),
      object: fc.constantFrom('claim' as const, 'volume', 'driver'),
      when: fc.constantFrom('now' as const, 'inExpand', 'inModify'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lag' as const), on: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 400 }) }),
  },
)

it('after random actions and faults, a claim has the size and class that its user requested', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 40, size: 'max' }), async (actions) => {
      const model = new ModelRun()
      await model.begin()
      for (const each of actions) await model.perform(each)
      await model.end()
      const { fixture, backend } = model
      expect(backend.violations).toEqual([])
      const { spec, status } = fixture.claim
      const request = giOf(spec?.resources?.requests?.['storage'])
      expect(backend.size).toBeGreaterThanOrEqual(request)
      expect(status).toEqual({
        phase: 'Bound',
        capacity: { storage: `${backend.size}Gi` },
        ...(status?.allocatedResources && {
          allocatedResources: { storage: `${giOf(status.allocatedResources['storage'])}Gi` },
        }),
        currentVolumeAttributesClassName: spec?.volumeAttributesClassName,
      })
      expect(backend.className).toBe(spec?.volumeAttributesClassName)
      const pv = fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)
      expect(pv?.spec?.capacity).toEqual({ storage: `${backend.size}Gi` })
      expect(pv?.spec?.volumeAttributesClassName).toBe(spec?.volumeAttributesClassName)
      expect(pv?.metadata?.annotations ?? {}).toEqual({})
      await fixture.kill()
      expect(fixture.clock.pending).toBe(0)
    }),
    { numRuns: RUNS, seed: SEED },
  )
}, 600_000)
