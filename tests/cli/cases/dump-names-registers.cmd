"$COATI" record -q -g dwarf -e page-faults:u -c 1 -o r.data -- "$HELPERS/touch-pages" 20
"$COATI" dump -T SAMPLE -n 1 -i r.data | grep -oE 'regs_user=\{ abi=2 (ax|x0)=0x|(cx|x2)=0x|sp=0x|(ip|pc)=0x[0-9a-f]+ (flags=0x|})' | cut -d = -f 1
