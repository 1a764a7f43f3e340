import { type AnyController, adaptToPressure, type Lead } from '@csi-sidecars/controller'
import { recorderWhileLeading, structuredLines, textLines } from '@csi-sidecars/events'
import { clientWhileLeading } from '@csi-sidecars/kube-client'
import { capacityControllers } from './capacity/controller.ts'
import type { CapacityDeps, CapacityParts, GetCapacity } from './capacity/run.ts'
import { claimControllers } from './claims/controller.ts'
import { ClaimMemory } from './claims/memory.ts'
import { driverCalls } from './driver-calls.ts'
import { backoffOf, type ProvisionerParts, type TermParts } from './parts.ts'
import { withoutTemplates } from './request/claim-parameters.ts'
import { cloneReleaseController } from './sources/release.ts'
import { SourceUses } from './sources/uses.ts'
import { unreferencedTask } from './unreferenced/join.ts'
import { volumeController } from './volumes/controller.ts'

/** Returns the provisioner's controllers. They run only while this process is the leader. */
export function provisionerControllers(opened: ProvisionerParts, { assertLeading }: Lead): readonly AnyController[] {
  const { client, caches, settings, clock, log } = opened
  const api = clientWhileLeading(client, assertLeading)
  const driver = driverCalls({ ...opened, assertLeading })
  const capacity = opened.capacity && capacityControllers(capacityDeps(opened, opened.capacity, { api, driver }))
  const term: TermParts = {
    ...opened,
    ...caches,
    refresh: capacity?.refresh,
    uses: new SourceUses(),
    recorder: recorderWhileLeading(opened.recorder, assertLeading, structuredLines(log)),
    populatorRecorder: recorderWhileLeading(opened.populatorRecorder, assertLeading, textLines(log)),
    api,
    driver,
  }
  const memory = new ClaimMemory(clock, settings.retryMaxMs)
  const alongside = unreferencedTask({ ...term, memory })
  const volumes = adaptToPressure({ ...volumeController(term), ...(alongside && { alongside }) }, term)
  const workers = settings.cloneReleaseWorkers
  const releases =
    workers === undefined ? [] : [cloneReleaseController({ ...term, workers, backoff: backoffOf(settings) })]
  return [...claimControllers(term, memory), volumes, ...releases, ...(capacity?.controllers ?? [])]
}

function capacityDeps(
  { settings, caches, clock, log }: ProvisionerParts,
  capacity: CapacityParts,
  { api, driver }: Pick<TermParts, 'api' | 'driver'>,
): CapacityDeps {
  const getCapacity: GetCapacity = ({ parameters, segments }, signal) => {
    const accessibleTopology = { segments: { ...segments } }
    const passed = settings.parameterTemplates ? withoutTemplates(parameters) : { ...parameters }
    return driver.capacity({ volumeCapabilities: [], parameters: passed, accessibleTopology }, signal)
  }
  return { ...capacity, api, classes: caches.classes, backoff: backoffOf(settings), getCapacity, clock, log }
}
