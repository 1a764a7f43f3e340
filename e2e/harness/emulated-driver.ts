// The emulated driver as a process of its own, as drivers are: node emulated-driver.ts SOCKET STATE [BUG]
// Its storage outlives it in the file STATE: what was answered is there when it was killed.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type {
  ControllerPublishVolumeRequest,
  ControllerUnpublishVolumeRequest,
  CreateVolumeRequest,
} from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure, startCsiDriver } from '@csi-sidecars/emulator'

const [socket = '', state = '', bug] = process.argv.slice(2)

type Stored = CsiDriver['volumes']['all'][number]

/** What a driver may have wrong, by a name. */
const BUGS: Readonly<Record<string, (driver: CsiDriver) => void>> = {
  /** A volume that is attached already is not attached again. */
  'publish-not-idempotent': (driver) => {
    driver.script('ControllerPublishVolume', (request: ControllerPublishVolumeRequest) => {
      const { volumeId, nodeId, volumeCapability, readonly } = request
      const volume = driver.volumes.get(volumeId)
      if (volume === undefined) throw new DriverFailure('NOT_FOUND', `volume ${volumeId} does not exist`)
      if (volume.attachments.has(nodeId))
        throw new DriverFailure('INTERNAL', `${volumeId} is attached to ${nodeId} already`)
      if (volumeCapability === undefined) throw new DriverFailure('INVALID_ARGUMENT', 'volume_capability is required')
      volume.attachments.set(nodeId, { capability: volumeCapability, readonly })
      return { publishContext: { device: `/dev/${volumeId}` } }
    })
  },
  /** A volume is made for each call, whatever its name. */
  'volume-leaked': (driver) => {
    driver.script('CreateVolume', ({ name, capacityRange }: CreateVolumeRequest) => {
      const { id, capacityBytes } = driver.volumes.add({ name, capacityBytes: capacityRange?.requiredBytes ?? 1n })
      const described = { volumeContext: {}, contentSource: undefined, accessibleTopology: [] }
      return { volume: { volumeId: id, capacityBytes, ...described } }
    })
  },
  /** A detach takes the volume off every node, also off one to which it was attached since. */
  'detach-of-new-attachment': (driver) => {
    driver.script('ControllerUnpublishVolume', ({ volumeId }: ControllerUnpublishVolumeRequest) => {
      driver.volumes.get(volumeId)?.attachments.clear()
      return {}
    })
  },
}

const driver = await startCsiDriver({ socket })
let highest = restore(driver)
if (bug !== undefined) BUGS[bug]?.(driver)
// Told before the answer leaves.
driver.log.subscribe(({ end }) => {
  if (end !== undefined) save(driver)
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void driver.stop().then(() => process.exit(0)))
}

interface Saved {
  /** The highest number of an id: none is given twice. */
  readonly highest: number
  readonly volumes: readonly Stored[]
}

function save({ volumes }: CsiDriver): void {
  highest = Math.max(highest, ...volumes.all.map(({ id }) => Number(id.replace(/^\D*/, ''))))
  const saved: Saved = { highest, volumes: volumes.all }
  const text = JSON.stringify(saved, (_key, value: unknown) => {
    if (typeof value === 'bigint') return { bigint: String(value) }
    return value instanceof Map ? { map: [...value] } : value
  })
  writeFileSync(`${state}.new`, text)
  renameSync(`${state}.new`, state)
}

/** Returns the highest number of an id. */
function restore({ volumes }: CsiDriver): number {
  if (!existsSync(state)) return 0
  const saved: Saved = JSON.parse(readFileSync(state, 'utf8'), (_key, value) => {
    if (typeof value?.bigint === 'string') return BigInt(value.bigint)
    return Array.isArray(value?.map) ? new Map(value.map) : value
  })
  for (let spent = saved.volumes.length; spent < saved.highest; spent += 1) {
    volumes.delete(volumes.add({ name: 'spent', capacityBytes: 0n }).id)
  }
  for (const volume of saved.volumes) volumes.add(volume)
  return saved.highest
}
