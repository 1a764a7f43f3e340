import { type Clock, messageOf } from '@csi-sidecars/base'
import { CODES, type Driver, RpcError, volumeCapabilityOf } from '@csi-sidecars/csi'
import { ControllerModifyVolume, CreateVolume, type CreateVolumeRequest, DeleteVolume } from '@csi-sidecars/csi-proto'
import { retrying } from './retrying-client.ts'

const USES = {
  mount: { volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'] },
  block: { volumeMode: 'Block', accessModes: ['ReadWriteOnce'] },
  shared: { volumeMode: 'Filesystem', accessModes: ['ReadWriteMany'] },
} as const

const TRY_MS = 120_000
/** How long a driver may be away, or busy, while it is tried. */
const LOST_MS = 20_000
const SIZE = 1024n ** 3n

interface TryParts {
  readonly parameters: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly onLost?: (what: string) => void
}

/** Creates volumes to see whether the driver does, and deletes them again. */
export class Tries {
  readonly #driver: Driver
  readonly #parameters: Readonly<Record<string, string>>
  readonly #clock: Clock
  readonly #onLost: ((what: string) => void) | undefined
  readonly #signal: AbortSignal

  constructor(driver: Driver, { parameters, clock, onLost }: TryParts, signal: AbortSignal) {
    this.#driver = driver
    this.#parameters = parameters
    this.#clock = clock
    this.#onLost = onLost
    this.#signal = signal
  }

  /** The driver's error message when it does not create such a volume. */
  refusalOf(kind: keyof typeof USES): Promise<string | undefined> {
    return this.#refusal(`a volume for ${kind}`, async () =>
      this.#delete(await this.#create(this.#requestOf(kind, kind))),
    )
  }

  /** The same of a volume with the content of another one. */
  refusalOfClone(): Promise<string | undefined> {
    return this.#refusal('a clone', async () => {
      const volumeId = await this.#create(this.#requestOf('mount', 'source'))
      try {
        const volumeContentSource = { type: { $case: 'volume' as const, value: { volumeId } } }
        await this.#delete(await this.#create({ ...this.#requestOf('mount', 'clone'), volumeContentSource }))
      } finally {
        await this.#delete(volumeId)
      }
    })
  }

  /** The same of modifications. */
  refusalOfAttributes(all: readonly Readonly<Record<string, string>>[]): Promise<string | undefined> {
    return this.#refusal('a modification', async () => {
      const volumeId = await this.#create(this.#requestOf('mount', 'modified'))
      const limits = { timeoutMs: TRY_MS, signal: this.#signal }
      try {
        for (const mutableParameters of all) {
          const request = { volumeId, secrets: {}, mutableParameters: { ...mutableParameters } }
          await this.#retrying(() => this.#driver.call(ControllerModifyVolume, request, limits))
        }
      } finally {
        await this.#delete(volumeId)
      }
    })
  }

  async #refusal(what: string, work: () => Promise<void>): Promise<string | undefined> {
    try {
      await work()
      return undefined
    } catch (error) {
      this.#signal.throwIfAborted()
      if (error instanceof RpcError && error.code === CODES.Unavailable) this.#onLost?.(what)
      return messageOf(error)
    }
  }

  #requestOf(kind: keyof typeof USES, name: string): CreateVolumeRequest {
    const { volumeMode, accessModes } = USES[kind]
    const use = { volumeMode, accessModes: [...accessModes], fsType: '', mountOptions: [] }
    return {
      name: `csi-devcluster-${name}-${this.#clock.now()}`,
      capacityRange: { requiredBytes: SIZE, limitBytes: 0n },
      volumeCapabilities: [volumeCapabilityOf(use, false)],
      parameters: { ...this.#parameters },
      secrets: {},
      volumeContentSource: undefined,
      accessibilityRequirements: undefined,
      mutableParameters: {},
    }
  }

  #create(request: CreateVolumeRequest): Promise<string> {
    return this.#retrying(async () => {
      const { volume } = await this.#driver.call(CreateVolume, request, { timeoutMs: TRY_MS, signal: this.#signal })
      if (!volume?.volumeId) throw new Error('CreateVolume succeeded and names no volume')
      return volume.volumeId
    })
  }

  async #delete(volumeId: string): Promise<void> {
    const limits = { timeoutMs: TRY_MS, signal: this.#signal }
    await this.#retrying(() => this.#driver.call(DeleteVolume, { volumeId, secrets: {} }, limits))
  }

  #retrying<T>(work: () => Promise<T>): Promise<T> {
    return retrying({ clock: this.#clock, signal: this.#signal }, work, { withinMs: LOST_MS })
  }
}
