// Checks the security of the workflows with zizmor (https://docs.zizmor.sh), if it is installed.
import { spawnSync } from 'node:child_process'

const args = ['--offline', '--no-progress', '--quiet', '--min-severity=medium', '.github']
const { status, error } = spawnSync('zizmor', args, { stdio: 'inherit' })
if (error?.code === 'ENOENT')
  console.log('zizmor is left out: pip install --requirement .github/zizmor/requirements.txt')
else if (error !== undefined) throw error
else process.exitCode = status ?? 1
