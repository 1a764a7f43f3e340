import { join } from 'node:path'
import { type CsiDriver, startCsiDriver } from '@csi-sidecars/emulator'
import type { TestContext } from '../context.ts'

/** Starts the emulated driver, which attaches and expands any volume. Its faults can send invalid gRPC answers. */
export function adoptingDriver(t: TestContext): Promise<CsiDriver> {
  return startCsiDriver({
    socket: join(t.folder, 'adopting.sock'),
    name: t.driverName,
    controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'],
    unknownVolumes: 'adopt',
    nodeExpansion: false,
  })
}
