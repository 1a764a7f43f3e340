import { main } from '@csi-sidecars/sidecar'
import { sidecars } from './sidecars.ts'

/** Runs the combined sidecars until the process ends. The loader of the bundled program calls this function. */
export const start = (): Promise<void> => main(sidecars)

if (import.meta.main) void start()
