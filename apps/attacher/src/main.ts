import { main, programOf } from '@csi-sidecars/sidecar'
import { attacher } from './app.ts'

/** Runs until the process ends. The loader of a bundle calls it. */
export const start = (): Promise<void> => main(programOf(attacher))

if (import.meta.main) void start()
