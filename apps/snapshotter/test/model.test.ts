import { unreachable } from '@csi-sidecars/base'
import { VOLUME_SNAPSHOT_CLASSES, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { CONTENTS, Model } from '../src/testing/model.ts'
import { snapshotClass } from '../src/testing/objects.ts'

type Step =
  | { do: 'create'; name: string; policy: string; again: boolean }
  | { do: 'remove' | 'delete' | 'strip' | 'label'; name: string }
  | { do: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { do: 'deliver'; count: number }
  | { do: 'flow'; rounds: number }
  | { do: 'pass'; ms: number }
  | { do: 'kill' | 'depose' | 'start' | 'lose' | 'comeBack' | 'resync' | 'ready' | 'unready' | 'endWatch' }

const name = fc.constantFrom(...CONTENTS)
const flight = { pick: fc.nat(7), fault: fc.nat(99) }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      name,
      policy: fc.constantFrom('Delete', 'Delete', 'Retain'),
      again: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('remove' as const, 'strip' as const), name }) },
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
      return model.stripContent(each.name)
    case 'label':
      return model.api.edit(
        VOLUME_SNAPSHOT_CONTENTS,
        { name: each.name },
        { metadata: { labels: { v: `${model.api.server.resourceVersion}` } } },
      )
    case 'answer':
      return model.flightAt(each.pick)?.answer()
    case 'apply':
      return model.flightAt(each.pick)?.apply()
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
  model.api.put(VOLUME_SNAPSHOT_CLASSES, snapshotClass())
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
