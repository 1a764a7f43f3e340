import process from 'node:process'
import type { ContentBug } from '../../../../apps/driver-test/src/testing/contents.ts'
import { CONTENT_BUGS, keepContents } from '../../../../apps/driver-test/src/testing/contents.ts'
import { MOUNTS } from '../../../../apps/driver-test/src/testing/placing.ts'
import {
  keepSnapshots,
  SNAPSHOT_BUGS,
  SNAPSHOTS,
  type SnapshotBug,
} from '../../../../apps/driver-test/src/testing/snapshots.ts'
import type { Planted, WholeDriver } from './planted.ts'

/** Mounts need root. */
export const CAN_MOUNT = process.platform === 'linux' && process.getuid?.() === 0

/** Bugs of snapshots, and of the content of volumes. The driver has both only with one of these bugs, or with none. */
export const HELD_BUGS: Readonly<Record<string, Planted>> = Object.fromEntries(
  Object.entries({ ...SNAPSHOT_BUGS, ...(CAN_MOUNT ? CONTENT_BUGS : {}) }).map(([name, check]) => [
    name,
    { check, holds: true, put: () => undefined },
  ]),
)

/** Gives the driver snapshots, and as root also volumes that hold files and bytes, in a folder that survives it. */
export function hold({ controller: driver, nodes }: WholeDriver, folder: string, bug: string | undefined): void {
  driver.settings.controller = [...driver.settings.controller, ...SNAPSHOTS]
  keepSnapshots(driver, { file: `${folder}-snapshots.json`, bug: isIn(SNAPSHOT_BUGS, bug) ? bug : undefined })
  if (!CAN_MOUNT) return
  for (const node of nodes) node.settings.node = [...node.settings.node, 'VOLUME_MOUNT_GROUP']
  keepContents({ driver, nodes }, { folder, placing: MOUNTS, bug: isIn(CONTENT_BUGS, bug) ? bug : undefined })
}

function isIn<K extends ContentBug | SnapshotBug>(bugs: Readonly<Record<K, unknown>>, bug = ''): bug is K {
  return Object.hasOwn(bugs, bug)
}
