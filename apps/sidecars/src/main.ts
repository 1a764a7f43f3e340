import { main } from '@csi-sidecars/sidecar'
import { sidecars } from './sidecars.ts'

/** Runs until the process ends. The loader of the bundle starts it. */
export const start = (): Promise<void> => main(sidecars)

if (import.meta.main) void start()
