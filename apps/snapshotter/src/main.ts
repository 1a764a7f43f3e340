import { main, programOf } from '@csi-sidecars/sidecar'
import { snapshotter } from './app.ts'

/** Runs the snapshotter until the process ends. The loader of the bundled program calls this function. */
export const start = (): Promise<void> => main(programOf(snapshotter))

if (import.meta.main) void start()
