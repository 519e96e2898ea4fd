from bucketstate.cli import main

raise SystemExit(main())
