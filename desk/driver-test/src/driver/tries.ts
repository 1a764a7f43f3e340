import { type Clock, messageOf } from '@csi-sidecars/base'
import { CODES, type Driver, RpcError, volumeCapabilityOf } from '@csi-sidecars/csi'
import { ControllerModifyVolume, CreateVolume, type CreateVolumeRequest, DeleteVolume } from '@csi-sidecars/csi-proto'
import type { DriverTestOptions } from '../options.ts'
import { retrying } from './direct-calls.ts'

export const CAPABILITIES = {
  mount: volumeCapabilityOf({ volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'] }, false),
  block: volumeCapabilityOf({ volumeMode: 'Block', accessModes: ['ReadWriteOnce'] }, false),
  shared: volumeCapabilityOf({ volumeMode: 'Filesystem', accessModes: ['ReadWriteMany'] }, false),
}

const TRY_MS = 120_000
/** The time for which a call is repeated while the driver is unavailable or busy. */
const LOST_MS = 20_000
export const GIB = 1024n ** 3n

/** The clock and the callbacks of tried abilities. */
export interface TryParts extends Pick<DriverTestOptions, 'parameters'> {
  readonly clock: Clock
  /** Called if the driver remained unavailable while an ability was tried, with the name of the ability. */
  readonly onLost?: (ability: string) => void
}

/** Tries whether the driver creates volumes of a kind, and deletes them again. */
export class Tries {
  readonly #driver: Driver
  readonly #options: TryParts
  readonly #limits: { readonly timeoutMs: number; readonly signal: AbortSignal }

  constructor(driver: Driver, options: TryParts, signal: AbortSignal) {
    this.#driver = driver
    this.#options = options
    this.#limits = { timeoutMs: TRY_MS, signal }
  }

  /** Creates and deletes a volume of the kind. Returns the driver's error message if the driver refuses. */
  refusalOf(kind: keyof typeof CAPABILITIES): Promise<string | undefined> {
    return this.#refusal(`a volume for ${kind}`, async () =>
      this.#delete(await this.#create(this.#requestOf(kind, kind))),
    )
  }

  /** Creates and deletes a clone. Returns the driver's error message if the driver refuses. */
  refusalOfClone(): Promise<string | undefined> {
    return this.#refusal('a clone', () =>
      this.#with('source', async (volumeId) => {
        const volumeContentSource = { type: { $case: 'volume' as const, value: { volumeId } } }
        await this.#delete(await this.#create({ ...this.#requestOf('mount', 'clone'), volumeContentSource }))
      }),
    )
  }

  /** Modifies a volume with each set of attributes. Returns the driver's error message if a set is refused. */
  refusalOfAttributes(all: readonly Readonly<Record<string, string>>[]): Promise<string | undefined> {
    return this.#refusal('a modification', () =>
      this.#with('modified', async (volumeId) => {
        for (const mutableParameters of all) {
          const request = { volumeId, secrets: {}, mutableParameters: { ...mutableParameters } }
          await this.#retrying(() => this.#driver.call(ControllerModifyVolume, request, this.#limits))
        }
      }),
    )
  }

  async #with(name: string, work: (volumeId: string) => Promise<void>): Promise<void> {
    const volumeId = await this.#create(this.#requestOf('mount', name))
    try {
      await work(volumeId)
    } finally {
      await this.#delete(volumeId)
    }
  }

  async #refusal(action: string, work: () => Promise<void>): Promise<string | undefined> {
    try {
      await work()
      return undefined
    } catch (error) {
      this.#limits.signal.throwIfAborted()
      if (error instanceof RpcError && error.code === CODES.Unavailable) this.#options.onLost?.(action)
      return messageOf(error)
    }
  }

  #requestOf(kind: keyof typeof CAPABILITIES, name: string): CreateVolumeRequest {
    const { clock, parameters } = this.#options
    return { ...volumeRequest(`${name}-${clock.now()}`, parameters), volumeCapabilities: [CAPABILITIES[kind]] }
  }

  #create(request: CreateVolumeRequest): Promise<string> {
    return this.#retrying(async () => {
      const { volume } = await this.#driver.call(CreateVolume, request, this.#limits)
      if (!volume?.volumeId) throw new Error('CreateVolume succeeded and names no volume')
      return volume.volumeId
    })
  }

  async #delete(volumeId: string): Promise<void> {
    await this.#retrying(() => this.#driver.call(DeleteVolume, { volumeId, secrets: {} }, this.#limits))
  }

  #retrying<T>(work: () => Promise<T>): Promise<T> {
    return retrying({ clock: this.#options.clock, signal: this.#limits.signal }, work, { withinMs: LOST_MS })
  }
}

/** Returns a request for a volume of 1 GiB for one node. */
export function volumeRequest(name: string, parameters: TryParts['parameters']): CreateVolumeRequest {
  return {
    name: `csi-devcluster-${name}`,
    capacityRange: { requiredBytes: GIB, limitBytes: 0n },
    volumeCapabilities: [CAPABILITIES.mount],
    parameters: { ...parameters },
    secrets: {},
    volumeContentSource: undefined,
    accessibilityRequirements: undefined,
    mutableParameters: {},
  }
}
