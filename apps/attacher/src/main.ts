import process from 'node:process'
import { processHost, runApp, VERSION } from '@csi-sidecars/sidecar'
import { attacher } from './app.ts'

const ending = await runApp(attacher, processHost(process), VERSION)
if ('bySignal' in ending) {
  process.removeAllListeners(ending.bySignal)
  process.kill(process.pid, ending.bySignal)
}
// The first process of a container outlives its own signal.
process.exit('code' in ending ? ending.code : { SIGINT: 130, SIGTERM: 143 }[ending.bySignal])
