import { main, programOf } from '@csi-sidecars/sidecar'
import { provisioner } from './app.ts'

/** Runs until the process ends. The loader of a bundle starts it. */
export const start = (): Promise<void> => main(programOf(provisioner))

if (import.meta.main) void start()
