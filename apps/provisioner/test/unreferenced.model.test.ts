import { unreachable } from '@csi-sidecars/base'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { CLAIMS, ProvisionerModel } from '../src/testing/model/provisioner-model.ts'

type Step =
  | { kind: 'createClaim' | 'deleteClaim' | 'stripVolumes'; name: string }
  | { kind: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { kind: 'flow'; rounds: number }
  | { kind: 'pass'; ms: number }
  | {
      kind:
        | 'plant'
        | 'deliver'
        | 'controlVolumes'
        | 'late'
        | 'kill'
        | 'depose'
        | 'start'
        | 'deleteClass'
        | 'createClass'
    }

const INTERVAL_MS = 290_000
const name = fc.constantFrom(...CLAIMS)
const flight = { pick: fc.nat(5), fault: fc.nat(99) }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('createClaim'), name }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('deleteClaim', 'stripVolumes'), name }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom('answer', 'answer', 'apply', 'fail'), ...flight }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('flow'), rounds: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('pass'), ms: fc.constantFrom(2_000, INTERVAL_MS + 1) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('deliver', 'controlVolumes', 'plant', 'late') }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('kill', 'depose', 'start', 'deleteClass', 'createClass') }),
  },
)

/** A model with volumes that were created by hand, so that no object ever names them. */
class PlantedModel extends ProvisionerModel {
  readonly planted: string[] = []

  constructor() {
    super({ unreferencedIntervalMs: INTERVAL_MS })
  }

  plant(): void {
    const handle = `planted-${this.planted.length}`
    this.planted.push(handle)
    this.storage.volumes.set(handle, handle)
  }
}

async function flow(model: PlantedModel, rounds: number): Promise<void> {
  for (let left = rounds; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    model.flightAt(0)?.answer()
    await model.clock.settle()
  }
}

async function perform(model: PlantedModel, each: Step): Promise<void> {
  switch (each.kind) {
    case 'createClaim':
      return model.createClaim(each.name)
    case 'deleteClaim':
      return model.deleteClaim(each.name)
    case 'stripVolumes':
      return model.stripVolumes(each.name)
    case 'answer':
      return model.flightAt(each.pick)?.answer()
    case 'apply':
      return model.flightAt(each.pick)?.apply()
    case 'fail': {
      const found = model.flightAt(each.pick)
      return found && model.failFlight(found, each.fault)
    }
    case 'flow':
      return await flow(model, each.rounds)
    case 'pass':
      return await model.clock.advance(each.ms)
    case 'plant':
      return model.plant()
    case 'deliver':
      return model.process?.deliver()
    case 'controlVolumes':
      return model.controlVolumes()
    case 'late':
      return model.continueCreations()
    case 'kill':
      return model.kill()
    case 'depose':
      return model.depose()
    case 'start':
      return model.start()
    case 'deleteClass':
      return model.deleteClass()
    case 'createClass':
      return model.createClass()
    default:
      return unreachable(each)
  }
}

/** Returns the volumes of the back end that no PersistentVolume names. */
function unownedHandles(model: PlantedModel): readonly string[] {
  const owned = new Set(model.volumes.map(({ spec }) => spec?.csi?.volumeHandle))
  return [...model.storage.volumes.keys()].filter((handle) => !owned.has(handle)).sort()
}

async function run(steps: readonly Step[]): Promise<void> {
  const model = new PlantedModel()
  model.start()
  await flow(model, 4)
  for (const each of steps) {
    await perform(model, each)
    await model.clock.settle()
    await model.checkReport()
  }
  await model.calmDown()
  await model.checkReport()
  const named = [...(await model.unreferenced())].sort()
  // A call that the driver refuses for ever stays uncertain, and then newer volumes stay undecided.
  if (model.refused.size === 0) expect(named).toEqual(unownedHandles(model))
  model.kill()
}

const RUNS = Number(process.env['MODEL_RUNS'] ?? 30)

describe('report of volumes that no object names', () => {
  it('names each volume that was created by hand, and never one of a PersistentVolume or of a running creation', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), run), {
      numRuns: RUNS,
    })
  }, 600_000)
})
