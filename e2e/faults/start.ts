import { CSI_NODES, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import type { Capabilities, Driver } from '../harness/driver.ts'
import { csiNode, storageClass } from '../harness/objects.ts'
import type { RunningSidecar, SidecarSetup, World } from '../harness/world.ts'
import { requiredBytes } from '../stories/resizer/scene.ts'

export interface StartedScene {
  readonly sidecar: RunningSidecar
  readonly driver: Driver
  readonly node: string
}

/** Node, class, driver and sidecar, which may be in trouble already: nothing is waited for. */
export async function startedScene(
  t: World,
  { controller = [], ...setup }: SidecarSetup & { readonly controller?: Capabilities['controller'] },
): Promise<StartedScene> {
  const driver = setup.driver ?? (await t.driver({ controller }))
  driver.on('ControllerExpandVolume', ({ request }) => ({
    reply: { capacityBytes: BigInt(requiredBytes(request)), nodeExpansionRequired: false },
  }))
  const node = await surroundings(t)
  return { sidecar: await t.sidecar({ ...setup, driver }), driver, node }
}

/** What the work of either sidecar needs in the API. */
export async function surroundings(t: World): Promise<string> {
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  return node
}
