import { unreachable } from '@csi-sidecars/base'
import type { MountSource } from './desired-state.ts'

/** Whether a mount is made again and again while it stands: its content may change, or its driver asks for that. */
export function showsAnew(source: MountSource, republishes: (driver: string) => boolean): boolean {
  switch (source.is) {
    case 'content':
      return true
    case 'csi':
      return republishes(source.csi.driver)
    case 'ephemeral':
      return republishes(source.source.driver)
    case 'local':
      return false
    default:
      return unreachable(source)
  }
}
