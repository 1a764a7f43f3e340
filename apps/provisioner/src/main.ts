import { main, programOf } from '@csi-sidecars/sidecar'
import { provisioner } from './app.ts'

/** Runs the provisioner until the process ends. The loader of the bundled program calls this function. */
export const start = (): Promise<void> => main(programOf(provisioner))

if (import.meta.main) void start()
