import { unreachable } from '@csi-sidecars/base'
import { VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { CONTENTS, COPY, Model, type Strip } from '../src/testing/model.ts'

type Step =
  | { do: 'create'; name: string; policy: string; again: boolean }
  | { do: 'remove' | 'delete' | 'label' | 'flip'; name: string }
  | { do: 'strip'; name: string; retain: Strip['retain'] }
  | { do: 'copy'; name: string; policy: string }
  | { kind: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { do: 'deliver'; count: number }
  | { do: 'flow'; rounds: number }
  | { do: 'pass'; ms: number }
  | { do: 'kill' | 'depose' | 'start' | 'lose' | 'comeBack' | 'resync' | 'ready' | 'unready' | 'endWatch' }
  | { do: 'loseChanges' | 'changeClass' | 'removeClass' }

const name = fc.constantFrom(...CONTENTS)
const anyName = fc.constantFrom(...CONTENTS, COPY)
const policy = fc.constantFrom('Delete', 'Delete', 'Retain')
const flight = { pick: fc.nat(7), fault: fc.nat(99) }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      name,
      policy,
      again: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), name: anyName }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('strip' as const),
      name: anyName,
      retain: fc.constantFrom<Strip['retain']>('no', 'no', 'once', 'twice'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('flip' as const), name: anyName }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('copy' as const), name, policy }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('loseChanges' as const, 'changeClass' as const, 'removeClass' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('delete' as const, 'label' as const), name }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('answer' as const), ...flight }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('apply' as const, 'fail' as const), ...flight }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('deliver' as const), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('flow' as const), rounds: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(500, 2_000, 61_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('kill', 'depose', 'start', 'lose', 'comeBack', 'resync', 'ready', 'unready', 'endWatch'),
    }),
  },
)

async function perform(model: Model, each: Step): Promise<void> {
  const { process } = model
  switch (each.do) {
    case 'create':
      return model.createContent(each.name, each)
    case 'remove':
      return model.removeContent(each.name)
    case 'delete':
      return model.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: each.name })
    case 'strip':
      return model.stripContent(each.name, each)
    case 'flip':
      return model.contentOf(each.name) && model.flipPolicy(each.name)
    case 'copy':
      return model.copyContent(each.name, each.policy)
    case 'loseChanges':
      return model.loseChanges()
    case 'changeClass':
      return model.changeClass()
    case 'removeClass':
      return model.removeClass()
    case 'label':
      return model.api.edit(
        VOLUME_SNAPSHOT_CONTENTS,
        { name: each.name },
        { metadata: { labels: { v: `${model.api.server.resourceVersion}` } } },
      )
    case 'answer':
      return model.flightAt(each.pick)?.answer()
    case 'apply': {
      // A read that is answered late could show an old state, so reads take effect when they are answered.
      const flight = model.flightAt(each.pick)
      return flight?.write ? flight.apply() : undefined
    }
    case 'fail': {
      const flight = model.flightAt(each.pick)
      return flight && model.failFlight(flight, each.fault)
    }
    case 'deliver':
      return process?.deliver(each.count)
    case 'flow':
      for (let left = each.rounds; left > 0; left -= 1) {
        model.process?.deliver()
        await model.clock.settle()
        model.flightAt(0)?.answer()
        await model.clock.settle()
      }
      return
    case 'pass':
      return model.clock.advance(each.ms)
    case 'kill':
      return model.kill()
    case 'depose':
      model.depose()
      return model.startStepwise()
    case 'start':
      return model.startStepwise()
    case 'lose':
      return process?.driver.lose()
    case 'comeBack':
      return process?.driver.comeBack()
    case 'resync':
      return process?.resync()
    case 'ready':
    case 'unready':
      model.storage.ready = each.do === 'ready'
      return
    case 'endWatch':
      return model.api.server.dropWatches({ resource: VOLUME_SNAPSHOT_CONTENTS })
    default:
      return unreachable(each)
  }
}

async function check(steps: readonly Step[]): Promise<void> {
  const model = await Model.begin()
  for (const each of steps) {
    await perform(model, each)
    await model.clock.settle()
    model.checkAlways()
  }
  await model.calmDown()
  model.checkAlways()
  model.checkConverged()
}

/** The number of random runs. `MODEL_RUNS=20000 MODEL_SEED=7 npm test -- model` runs more of them. */
const numRuns = Number(process.env['MODEL_RUNS'] ?? 150)
const seed = Number(process.env['MODEL_SEED'] ?? 20_260_101)

describe('random model', () => {
  it('two contents converge after random steps, without a lost or wrongly deleted snapshot', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), check), { numRuns, seed })
  }, 600_000)
})
