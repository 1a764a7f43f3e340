import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { type LocalNode, type Owner, ownerOf } from './owner.ts'

export interface OwnVolumesOptions {
  /** Undefined while it is not known: no volume is owned then. */
  readonly node: () => LocalNode | undefined
  readonly log: Logger
}

/** Bounds the memory for volumes that were logged. With more of them the oldest are logged again after a new list. */
const REMEMBERED = 10_000

const WHY: Readonly<Record<Exclude<Owner, 'own' | 'foreign'>, string>> = {
  none: 'it has no nodeAffinity',
  shared: 'its nodeAffinity does not name this node alone',
}

/** Which volumes of the driver this instance acts on. Logs once each that no instance acts on. */
export class OwnVolumes {
  readonly #options: OwnVolumesOptions
  readonly #logged = new Set<string>()

  constructor(options: OwnVolumesOptions) {
    this.#options = options
  }

  has(pv: PersistentVolume): boolean {
    const node = this.#options.node()
    if (node === undefined) return false
    const owner = ownerOf(pv.spec?.nodeAffinity, node)
    if (owner === 'none' || owner === 'shared') this.#logOnce(pv, WHY[owner])
    return owner === 'own'
  }

  #logOnce({ metadata }: PersistentVolume, why: string): void {
    const { name = '', uid = '' } = metadata ?? {}
    if (this.#logged.has(uid)) return
    const [oldest] = this.#logged
    if (this.#logged.size >= REMEMBERED && oldest !== undefined) this.#logged.delete(oldest)
    this.#logged.add(uid)
    this.#options.log.info('Volume is left alone: it needs a resizer without --node-deployment', { PV: name, why })
  }
}
