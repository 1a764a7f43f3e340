import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@csi-sidecars/base'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  CreateVolume,
  NodeGetVolumeStats,
  NodeServiceCapability_RPC_Type as NodeRpc,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { nodeCan } from '@csi-sidecars/volume-controllers'
import type { OwnNode } from '../driver/nodes.ts'
import { BYTES, FILES, type VolumeContent } from './content.ts'
import { expand, expandsOn, largerThan, type Mounted, mount, unmount } from './mounted.ts'
import type { Setting } from './setting.ts'
import { createdSnapshot, deletedSnapshot } from './snapshots.ts'

const FIRST = 'written first'

/** Writes to a volume and reads the data back: after another mount, on another node, in a clone, and so on. */
export async function checkData(setting: Setting): Promise<void> {
  const [first, second] = setting.ownNodes
  if (first === undefined) return
  await checkKind(setting, FILES, { first, second })
  if (setting.deps.abilities.can.block) await checkKind(setting, BYTES, { first, second })
}

interface Nodes {
  readonly first: OwnNode
  readonly second: OwnNode | undefined
}

async function checkKind(setting: Setting, content: VolumeContent, { first, second }: Nodes): Promise<void> {
  const volume = await setting.created(
    setting.create(`data-${content.kind}`, { volumeCapabilities: [content.capability] }),
  )
  if (volume === undefined) return
  const data = new Data(setting, volume, content)
  const written = await data.within(first, async (mounted) => {
    await data.checkSize(mounted, volume.capacityBytes)
    return await data.write(mounted, FIRST)
  })
  if (written === true) {
    await data.within(first, (mounted) => data.check(mounted, 'after an unmount and a mount'))
    if (second !== undefined)
      await data.within(second, (mounted) => data.check(mounted, 'after a move to another node'))
    if (setting.has('ControllerExpandVolume')) await data.within(first, (mounted) => data.expand(mounted))
    if (content.kind === 'mount') await checkCopies(data, first)
  }
  await setting.deleted(volume.volumeId)
}

async function checkCopies(data: Data, first: OwnNode): Promise<void> {
  const { driver, abilities } = data.setting.deps
  if (abilities.can.clone === true) await checkClone(data, first)
  if (driver.capabilities.controller.has(ControllerRpc.CREATE_DELETE_SNAPSHOT)) await checkSnapshot(data, first)
  await data.within(first, (mounted) => data.refuse(mounted), true)
}

async function checkClone(data: Data, node: OwnNode): Promise<void> {
  const { setting, volume } = data
  const volumeContentSource = { type: { $case: 'volume' as const, value: { volumeId: volume.volumeId } } }
  const request = setting.create('data-clone', { volumeContentSource, capacityRange: largerThan(volume) })
  const clone = await setting.created(request)
  if (clone === undefined) return
  const inClone = new Data(setting, clone, data.content)
  const written = 'written to the clone'
  await inClone.within(node, async (mounted) => {
    await inClone.check(mounted, `in the clone of ${volume.volumeId}`)
    return await inClone.write(mounted, written)
  })
  await data.within(node, (mounted) => data.check(mounted, 'after its clone was written'))
  // A repeated CreateVolume, as after a lost answer, must not overwrite the content of the clone.
  await setting.repeat(CreateVolume, request)
  await inClone.within(node, (mounted) => inClone.check(mounted, 'after its CreateVolume was repeated', written))
  await setting.deleted(clone.volumeId)
}

/** Checks that a snapshot does not contain later writes, even if the snapshot is requested again. */
async function checkSnapshot(data: Data, node: OwnNode): Promise<void> {
  const { setting, volume } = data
  const snapshotId = await createdSnapshot(setting, volume, 'data')
  if (snapshotId === undefined) return
  await data.within(node, (mounted) => data.write(mounted, 'written after the snapshot'))
  const from = `restored from a snapshot of ${volume.volumeId}`
  const isRestored = await checkRestored(data, node, { snapshotId, name: 'data-restored', when: from })
  if (isRestored && (await createdSnapshot(setting, volume, 'data')) === snapshotId) {
    await checkRestored(data, node, { snapshotId, name: 'data-again', when: `${from} that was requested again` })
  }
  await deletedSnapshot(setting, snapshotId, volume)
}

interface Restoring {
  readonly snapshotId: string
  /** The name of the new volume. */
  readonly name: string
  readonly when: string
}

/** Restores the snapshot into a volume. Reports whether this volume has the data of the first write. */
async function checkRestored(data: Data, node: OwnNode, { snapshotId, name, when }: Restoring): Promise<boolean> {
  const { setting, volume } = data
  const volumeContentSource = { type: { $case: 'snapshot' as const, value: { snapshotId } } }
  const capacityRange = largerThan(volume)
  const restored = await setting.created(setting.create(name, { volumeContentSource, capacityRange }))
  if (restored === undefined) return false
  const inRestored = new Data(setting, restored, data.content)
  const isSame = await inRestored.within(node, (mounted) => inRestored.check(mounted, when))
  await setting.deleted(restored.volumeId)
  return isSame === true
}

/** Reads and writes the content of one volume. Wrong content is a finding. */
class Data {
  readonly setting: Setting
  readonly volume: Volume
  readonly content: VolumeContent

  constructor(setting: Setting, volume: Volume, content: VolumeContent) {
    this.setting = setting
    this.volume = volume
    this.content = content
  }

  /** Runs `work` while the volume is mounted on the node. Undefined: the driver refuses or does not really mount. */
  async within<T>(node: OwnNode, work: (mounted: Mounted) => Promise<T>, readonly = false): Promise<T | undefined> {
    const { setting, volume, content } = this
    const mounted = await mount(setting, volume, { node, readonly, capability: content.capability })
    if (mounted === undefined) return undefined
    try {
      return (await setting.deps.mountOptions(mounted.path)) === undefined ? undefined : await work(mounted)
    } finally {
      await unmount(setting, volume, mounted)
    }
  }

  async write({ path }: Mounted, text: string): Promise<boolean> {
    try {
      await this.content.write(path, text)
      return true
    } catch (error) {
      this.#find('data', `cannot be written: ${messageOf(error)}`)
      return false
    }
  }

  /** Reports whether the volume has the text. Another text is a finding. */
  async check({ path }: Mounted, when: string, expected = FIRST): Promise<boolean> {
    const text = await this.content.read(path).catch((error: unknown) => `nothing: ${messageOf(error)}`)
    if (text !== expected) this.#find('data', `has ${JSON.stringify(text)} ${when}, not ${JSON.stringify(expected)}`)
    return text === expected
  }

  /** Checks that the device has this many bytes. Checks nothing for 0, because the driver does not know the size. */
  async checkSize({ path }: Mounted, bytes: bigint): Promise<void> {
    const { holds } = this.content
    if (holds === undefined || bytes === 0n) return
    const isLargeEnough = await holds(path, bytes).catch((error: unknown) => messageOf(error))
    if (isLargeEnough === true) return
    const why = isLargeEnough === false ? 'it ends before' : isLargeEnough
    this.#find('capacity', `has ${bytes} bytes, and the last of them cannot be read: ${why}`)
  }

  /** Checks that a read-only mount cannot be written. */
  async refuse({ path }: Mounted): Promise<void> {
    const refused = await writeFile(join(path, 'csi-devcluster-data-2'), FIRST).then(
      () => false,
      () => true,
    )
    if (!refused) this.#find('readOnly', 'was mounted to be read, and could be written')
  }

  async expand(mounted: Mounted): Promise<void> {
    const { setting, volume, content } = this
    const before = await this.#total(mounted)
    const grown = await expand(setting, volume, { mounted, capability: content.capability })
    if (grown === undefined) return
    await this.check(mounted, 'after an expansion')
    if (!grown.nodeExpansionRequired || expandsOn(mounted.node)) await this.checkSize(mounted, grown.capacityBytes)
    const after = await this.#total(mounted)
    // The usage is checked only if the volume seems to have a separate file system.
    const hasOwnFileSystem =
      before !== undefined && before > volume.capacityBytes / 2n && before <= volume.capacityBytes
    if (hasOwnFileSystem && after !== undefined && after <= before) {
      this.#find('usage', `has ${after} bytes by NodeGetVolumeStats, as before its expansion`)
    }
  }

  async #total({ node, path, staging }: Mounted): Promise<bigint | undefined> {
    if (!nodeCan(node.driver, NodeRpc.GET_VOLUME_STATS)) return undefined
    const request = { volumeId: this.volume.volumeId, volumePath: path, stagingTargetPath: staging }
    const { response } = await this.setting.deps.calls.ask(node.driver, NodeGetVolumeStats, request)
    return response?.usage.map(({ total }) => total).reduce((most, each) => (each > most ? each : most), 0n)
  }

  #find(check: 'data' | 'readOnly' | 'usage' | 'capacity', text: string): void {
    const { volumeId } = this.volume
    const kind = this.content.kind === 'block' ? 'block volume' : 'volume'
    this.setting.deps.find({ check, subjectId: volumeId, text: `${kind} ${volumeId} ${text}` })
  }
}
