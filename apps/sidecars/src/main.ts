import { main } from '@csi-sidecars/sidecar'
import { sidecars } from './sidecars.ts'

/** The whole life of the process. A bundle is started by whoever has loaded it. */
export const start = (): Promise<void> => main(sidecars)

if (import.meta.main) void start()
