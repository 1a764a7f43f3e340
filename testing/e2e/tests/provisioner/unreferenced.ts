import { deepStrictEqual as equal } from 'node:assert'
import type { TestContext } from '../../harness/context.ts'
import type { Call, FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  calls,
  createClaim,
  GI,
  type ProvisionerScene,
  provision,
  provisionedVolume,
  scene,
} from '../../rows/provisioner/scene.ts'
import { nothingUnreferenced, unreferencedPage, unreferencedSeries, untilUnreferenced } from '../unreferenced.ts'

const test = testsOf('provisioner', 'unreferenced volumes', { only: 'ours' })

const INTERVAL = '--unreferenced-check-interval=100ms'

/** Starts a driver that lists these volumes, and the provisioner. */
function listing(t: TestContext, volumes: readonly string[], args: readonly string[] = []): Promise<ProvisionerScene> {
  return scene(t, {
    args: [INTERVAL, ...args],
    controller: ['LIST_VOLUMES'],
    prepare: (driver) => listVolumes(driver, volumes),
  })
}

function listVolumes(driver: FakeDriver, volumes: readonly string[]): void {
  driver.on('ListVolumes', { reply: { entries: volumes.map(listedVolume), nextToken: '' } })
}

/** Returns a volume of 3 Gi in an answer to ListVolumes. */
export function listedVolume(volumeId: string): object {
  return { volume: { volumeId, capacityBytes: BigInt(3 * GI), volumeContext: {}, accessibleTopology: [] } }
}

/** Returns the handle of the volume that the driver creates. */
function handleOf({ request }: Call): string {
  return `vol-${request['name']}`
}

/** Waits until the provisioner has used at least two listings that begin after this call. */
async function afterTwoListings(driver: FakeDriver): Promise<void> {
  // The third listing begins when the second one has ended, and the one before may have begun earlier.
  await calls(driver, 'ListVolumes', driver.callsOf('ListVolumes').length + 4)
}

test('a volume that no PersistentVolume names is counted and listed until an object names it', async (t) => {
  const { driver, sidecar } = await listing(t, ['forgotten'])

  const [item] = await untilUnreferenced(sidecar, 1)
  const { since, ...facts } = item ?? {}
  equal(facts, { kind: 'volume', reason: 'NoObject', handle: 'forgotten', sizeBytes: 3 * GI, publishedNodes: 0 })
  const series = { driver_name: t.driverName, reason: 'NoObject', scope: 'backend' }
  equal(await unreferencedSeries(sidecar, 'volumes', series), { count: 1, bytes: 3 * GI })

  await t.createVolume('pv', { csi: { volumeHandle: 'forgotten' } })
  await nothingUnreferenced(sidecar)
  equal(await unreferencedSeries(sidecar, 'volumes', series), { count: 0, bytes: 0 })
  equal(driver.callsOf('DeleteVolume'), [])
})

test('without a filter, the volumes of all clusters of a shared back end are reported as those of the back end', async (t) => {
  const { sidecar } = await listing(t, ['blue-1', 'green-1'])

  const items = await untilUnreferenced(sidecar, 2)
  equal(items.map(({ handle }) => handle).sort(), ['blue-1', 'green-1'])
  equal(
    (await unreferencedPage(sidecar)).searches.map(({ scope }) => scope),
    ['backend'],
  )
})

test('with --unreferenced-handle-filter only the volumes with this text are reported, as those of the cluster', async (t) => {
  const { sidecar } = await listing(t, ['blue-1', 'green-1'], ['--unreferenced-handle-filter=blue-'])

  const items = await untilUnreferenced(sidecar, 1)
  equal(
    items.map(({ handle }) => handle),
    ['blue-1'],
  )
  equal(
    (await unreferencedPage(sidecar)).searches.map(({ scope }) => scope),
    ['cluster'],
  )
  const series = { driver_name: t.driverName, reason: 'NoObject', scope: 'cluster' }
  equal(await unreferencedSeries(sidecar, 'volumes', series), { count: 1, bytes: 3 * GI })
})

test('the volume of a running CreateVolume call is undecided until its PersistentVolume exists', async (t) => {
  const answered = Promise.withResolvers<void>()
  const { driver, sidecar } = await listing(t, ['forgotten'])
  await untilUnreferenced(sidecar, 1)
  driver.on('CreateVolume', (call) => {
    listVolumes(driver, ['forgotten', handleOf(call)])
    return { reply: {}, after: answered.promise }
  })
  const uid = await createClaim(t)
  await calls(driver, 'CreateVolume')
  await afterTwoListings(driver)

  const { searches, items } = await unreferencedPage(sidecar)
  equal(
    searches.map(({ undecided }) => undecided),
    [1],
  )
  equal(
    items.map(({ handle }) => handle),
    ['forgotten'],
  )

  answered.resolve()
  await provisionedVolume(t, uid)
  await afterTwoListings(driver)
  await eventually('a decision', async () => (await unreferencedPage(sidecar)).searches[0]?.undecided === 0)
  equal(
    (await unreferencedPage(sidecar)).items.map(({ handle }) => handle),
    ['forgotten'],
  )
})

test('the volume of a CreateVolume call of a killed provisioner is never reported', async (t) => {
  const { driver, sidecar: first } = await listing(t, [])
  driver.on('CreateVolume', (call) => {
    listVolumes(driver, [handleOf(call)])
    return 'hang'
  })
  const uid = await createClaim(t)
  await calls(driver, 'CreateVolume')
  await first.endBy('SIGKILL')
  const second = await t.sidecar({ driver, args: [INTERVAL] })
  await calls(driver, 'CreateVolume', 2)
  await afterTwoListings(driver)

  const { searches, items } = await unreferencedPage(second)
  equal([searches.map(({ undecided }) => undecided), items], [[1], []])
  equal(driver.fieldsOf('CreateVolume', 'name'), [`pvc-${uid}`, `pvc-${uid}`])
})

test('a PersistentVolume whose volume the driver no longer lists is reported', async (t) => {
  const { driver, sidecar } = await listing(t, [])
  const listed: string[] = []
  driver.on('CreateVolume', (call) => {
    listed.push(handleOf(call))
    listVolumes(driver, listed)
    return { reply: {} }
  })
  const lost = await provision(t, { suffix: '-lost' })
  await provision(t, { suffix: '-kept' })
  listVolumes(driver, listed.slice(1))

  const [item] = await untilUnreferenced(sidecar, 1)
  equal([item?.reason, item?.handle], ['NotListed', lost.spec?.csi?.volumeHandle])
  equal(item?.object, { kind: 'PersistentVolume', name: lost.metadata?.name })
  equal((await sidecar.metrics()).value('csi_sidecar_missing_volumes', { driver_name: t.driverName }), 1)
})
