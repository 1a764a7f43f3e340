import { main, programOf } from '@csi-sidecars/sidecar'
import { snapshotter } from './app.ts'

/** Runs until the process ends. The loader of the bundle starts it. */
export const start = (): Promise<void> => main(programOf(snapshotter))

if (import.meta.main) void start()
