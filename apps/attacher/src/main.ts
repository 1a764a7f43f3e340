import { main, programOf } from '@csi-sidecars/sidecar'
import { attacher } from './app.ts'

/** The whole life of the process. A bundle is started by whoever has loaded it. */
export const start = (): Promise<void> => main(programOf(attacher))

if (import.meta.main) void start()
